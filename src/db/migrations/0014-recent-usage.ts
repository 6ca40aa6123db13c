import type { SchemaWords } from "../engine.ts";

/**
 * How far usage by five minutes reaches: up to which number requests are counted in it, and from which time on. What was
 * counted by hours before is not in it, so it begins after the last of those hours.
 */
export const recentUsage = ({ integer, table }: SchemaWords): string[] => [
  `create table usage_recent_mark (request_seq ${integer} not null, from_ms ${integer} not null) ${table}`,
  `insert into usage_recent_mark (request_seq, from_ms)
    select request_seq, coalesce(
      (select max(time_ms) + 3600000 from usage_rollups where grain_ms = 3600000 and view_name = 'outcome'), 0
    ) from usage_mark`,
];
