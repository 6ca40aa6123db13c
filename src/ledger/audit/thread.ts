import { openForReading } from "../../db/sqlite.ts";
import { serveThread } from "../../runtime/worker.ts";
import { checkSnapshot } from "./audit.ts";
import type { Findings } from "./checks.ts";
import type { AuditRequest } from "./request.ts";

serveThread<string, AuditRequest, Findings>((databaseFile) => {
  const database = openForReading(databaseFile);
  return (request) => checkSnapshot(database, "sqlite", request);
});
