#!/bin/sh
# Makes the user of the service, and says how to make the first user of the database. An upgrade restarts the service.
set -e
if ! getent group nacre >/dev/null 2>&1; then
  if command -v groupadd >/dev/null; then groupadd --system nacre; else addgroup -S nacre; fi
fi
if ! getent passwd nacre >/dev/null 2>&1; then
  if command -v useradd >/dev/null; then
    useradd --system --gid nacre --home-dir /var/lib/nacre --no-create-home --shell /usr/sbin/nologin nacre
  else
    adduser -S -D -H -h /var/lib/nacre -s /sbin/nologin -G nacre nacre
  fi
fi
chown root:nacre /etc/nacre/nacre.toml && chmod 0640 /etc/nacre/nacre.toml
chown root:root /etc/nacre/env && chmod 0600 /etc/nacre/env
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
# The first argument is "configure" with the old version for dpkg, the number of versions for rpm, the version for apk.
case "$1:$2" in
  configure:?*|2:*)
    if [ -d /run/systemd/system ]; then systemctl try-restart nacre.service || true; fi
    exit 0 ;;
esac
cat <<'WORDS'
nacre has no user yet. Put NACRE_USER and NACRE_PASS into /etc/nacre/env for the first one, then:
WORDS
if command -v systemctl >/dev/null; then
  echo '  systemctl enable --now nacre'
else
  echo '  start it by your service manager, as the unit in /usr/lib/systemd/system/nacre.service does'
fi
cat <<'WORDS'
  nacre isready --wait 30s
and take NACRE_PASS out again: users stay in the database.
WORDS
