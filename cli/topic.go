package cli

import "github.com/spf13/cobra"

// newTopics are the texts of 'nacre help TOPIC'.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit status of a command says", Long: exitCodesTopic},
		{Use: "environment", Short: "Variables, and where settings come from", Long: environmentTopic},
	}
}

const exitCodesTopic = `Every command but isready ends with one of these:

   0  ok; also when the reader of a pipe went away
   1  other: another failure, such as a statement that failed
   2  usage: a wrong flag, argument or setting
   3  unauthenticated: no identity, or a wrong one
   4  forbidden: the identity may not do it
   5  not_found: a file, context, namespace, database, table or record
   6  conflict: it exists already, or is in the way, or in use
   7  invalid: a text that does not parse, a damaged file or store
   8  rate_limited: too many attempts to sign in; wait and try again
   9  unreachable: no server answers, it is not ready, or has no memory left
  10  timeout: it was not done in time
 130  interrupted: by Ctrl-C

nacre isready has the codes of pg_isready:

   0  ready
   1  it answers, but is not ready
   2  no answer
   3  wrong arguments

With --json a command that fails prints one object on standard error. Standard
output has data only. The members of the object:

  kind              the word of the exit status above
  exit_code         the exit status
  message           what went wrong, for people
  code              the kind of an error of the database, as Validation;
                    not there for others
  hint              what may help, if anything is known
  command           the command, as 'nacre sql'
  retry_after_secs  when it is worth a try again, with kinds rate_limited and
                    unreachable`

const environmentTopic = `Every flag has a variable, which the help of its command names. A flag wins over its
variable, and a variable over the context and the configuration file.

Flags of connections and of 'nacre start' have names without the command, as
NACRE_ENDPOINT and NACRE_BIND; SERVICE_… and SURREAL_… are other names of them. All
others have the name of the command in theirs: NACRE_SQL_FORMAT is --format of
'nacre sql'. An empty variable is not set. Secrets may be in files: NACRE_PASS_FILE.

'nacre start' warns about variables that begin with NACRE_ or SURREAL_ and mean nothing;
so does every command on a terminal. 'nacre start --print-config' shows each setting
and where it came from.

Others that are heeded: NO_COLOR and CLICOLOR_FORCE (colours), PAGER (long answers in
the shell), VISUAL and EDITOR (\e in the shell), XDG_STATE_HOME (history),
XDG_CONFIG_HOME (contexts).`
