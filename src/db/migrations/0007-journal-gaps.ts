import type { SchemaWords } from "../engine.ts";

/**
 * What a journal had and the tables never got. A row has a record that they refused, whole, or says that records are
 * missing because the database was copied without them. The audit fails until an operator has deleted the row.
 */
export const journalGaps = ({ sequence, integer, table }: SchemaWords): string[] => [
  `create table journal_gaps (
    seq ${sequence},
    kind text not null check (kind in ('incomplete', 'refused')),
    reason text not null,
    number ${integer},
    record text,
    found_at_ms ${integer} not null
  ) ${table}`,
];
