-- The tables of the programs, as PostgreSQL has them. tables.surql has the same.
CREATE TABLE person (
  id text PRIMARY KEY DEFAULT 'person:' || gen_random_uuid(),
  name text NOT NULL,
  email text CONSTRAINT person_email UNIQUE,
  age int8,
  score float8,
  balance numeric,
  active bool NOT NULL DEFAULT true,
  born timestamptz,
  tags text[],
  meta jsonb,
  boss_id text REFERENCES person
);
CREATE TABLE post (
  id text PRIMARY KEY DEFAULT 'post:' || gen_random_uuid(),
  title text NOT NULL,
  author_id text REFERENCES person,
  views int8 NOT NULL DEFAULT 0,
  published bool NOT NULL DEFAULT false,
  created_at timestamptz,
  updated_at timestamptz,
  deleted_at timestamptz
);
CREATE INDEX post_views ON post (views);
CREATE TABLE tag (
  id text PRIMARY KEY DEFAULT 'tag:' || gen_random_uuid(),
  label text NOT NULL CONSTRAINT tag_label UNIQUE
);
CREATE TABLE post_tag (
  id text PRIMARY KEY DEFAULT 'post_tag:' || gen_random_uuid(),
  post_id text NOT NULL REFERENCES post,
  tag_id text NOT NULL REFERENCES tag,
  CONSTRAINT post_tag_both UNIQUE (post_id, tag_id)
);
