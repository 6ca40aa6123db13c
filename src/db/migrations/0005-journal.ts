import type { SchemaWords } from "../engine.ts";

/**
 * Which journal belongs to a database that one process has to itself. Of its records, the last that is in the tables,
 * and whether all were when that process ended. An earlier version does not know the journal, and refuses this
 * database.
 */
export const journal = ({ integer, table }: SchemaWords): string[] => [
  `create table journal (
    journal text,
    number ${integer} not null,
    is_closed ${integer} not null
  ) ${table}`,
  `insert into journal (journal, number, is_closed) values (null, 0, 1)`,
];
