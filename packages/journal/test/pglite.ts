import { PGlite } from "@electric-sql/pglite";

/** Postgres in this process: starting it takes seconds, so the files of a worker share it, each with tables of its own. */
export const pglite = new PGlite();
