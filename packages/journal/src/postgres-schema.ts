/** The version of the tables is the comment of the first of them. */
export function versionIn(comment: unknown): number | undefined {
  const [, version] = /^proviso journal (\d{1,9})$/u.exec(String(comment)) ?? [];
  return version === undefined ? undefined : Number(version);
}

/**
 * Makes tables and function, as one statement that may run in several processes at once. A run's key is never given again,
 * so that a reader does not go on in another run of the same id. Runs are locked by id, so that no two appends wait for
 * each other.
 */
export function schemaStatement(prefix: string): string {
  const [runs, frames] = [`${prefix}_runs`, `${prefix}_frames`];
  return `DO $schema$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('${prefix}_journal'));
  -- Another process may have made them just now: what this one has seen of the catalogue may be older.
  BEGIN
    CREATE SEQUENCE IF NOT EXISTS ${prefix}_changes;
    CREATE TABLE ${runs} (
      key bigserial PRIMARY KEY,
      run text NOT NULL UNIQUE,
      length bigint NOT NULL,
      changed bigint NOT NULL
    );
    CREATE INDEX ON ${runs} (changed);
    CREATE TABLE ${frames} (
      key bigint NOT NULL REFERENCES ${runs} ON DELETE CASCADE,
      first bigint NOT NULL,
      count bigint NOT NULL,
      writer text NOT NULL,
      body text NOT NULL,
      sum bigint NOT NULL,
      summary text NOT NULL,
      PRIMARY KEY (key, first)
    );
    COMMENT ON TABLE ${runs} IS 'proviso journal 1';
  EXCEPTION WHEN duplicate_table THEN
    NULL;
  END;
  IF obj_description(to_regclass('${runs}'), 'pg_class') IS DISTINCT FROM 'proviso journal 1' THEN
    RETURN;
  END IF;
${appendFunction(prefix)}
END $schema$`;
}

/** The name has the version: another function under the same name would not be made where there are tables already. */
export function appendName(prefix: string): string {
  return `${prefix}_append_2`;
}

/** Keeps the frames of one call: the lock of each run, then frame by frame. */
function appendFunction(prefix: string): string {
  const [runs, frames] = [`${prefix}_runs`, `${prefix}_frames`];
  return `  CREATE OR REPLACE FUNCTION ${appendName(prefix)}(given json) RETURNS text LANGUAGE plpgsql AS $append$
  DECLARE
    id text;
    frame json;
    known ${runs}%ROWTYPE;
    kept text[] := '{}';
  BEGIN
    FOR id IN
      SELECT DISTINCT (one ->> 'run') COLLATE "C" FROM json_array_elements(given) AS one ORDER BY 1
    LOOP
      INSERT INTO ${runs} (run, length, changed) VALUES (id, 0, 0) ON CONFLICT (run) DO NOTHING;
      PERFORM 1 FROM ${runs} WHERE run = id FOR UPDATE;
    END LOOP;
    FOR frame IN
      SELECT value FROM json_array_elements(given) WITH ORDINALITY AS one (value, place) ORDER BY place
    LOOP
      SELECT * INTO known FROM ${runs} WHERE run = frame ->> 'run';
      IF known.length = (frame ->> 'first')::bigint AND (
        known.length = 0 OR frame ->> 'begunBy' IS NULL OR EXISTS (
          SELECT 1 FROM ${frames} AS begun WHERE begun.key = known.key AND begun.first = 0
            AND begun.writer = frame ->> 'begunBy'
        )
      ) THEN
        INSERT INTO ${frames} (key, first, count, writer, body, sum, summary) VALUES (
          known.key, known.length, (frame ->> 'count')::bigint, frame ->> 'writer', frame ->> 'body',
          (frame ->> 'sum')::bigint, frame ->> 'summary'
        );
        UPDATE ${runs} SET length = known.length + (frame ->> 'count')::bigint, changed = nextval('${prefix}_changes')
          WHERE ${runs}.key = known.key;
        kept := kept || 'kept'::text;
      ELSIF EXISTS (
        SELECT 1 FROM ${frames} AS old WHERE old.key = known.key AND old.first = (frame ->> 'first')::bigint
          AND old.writer = frame ->> 'writer' AND old.sum = (frame ->> 'sum')::bigint
      ) THEN
        kept := kept || 'kept'::text;
      ELSE
        kept := kept || 'fenced'::text;
      END IF;
    END LOOP;
    DELETE FROM ${runs} WHERE length = 0 AND run IN (SELECT one ->> 'run' FROM json_array_elements(given) AS one);
    RETURN array_to_string(kept, ',');
  END $append$;`;
}
