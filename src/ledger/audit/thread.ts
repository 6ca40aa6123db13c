import { serveThreadLate } from "../../runtime/worker.ts";
import type { Findings } from "./checks.ts";
import type { AuditRequest } from "./request.ts";

serveThreadLate<string, AuditRequest, Findings>(async () => {
  const [{ openForReading }, { checkSnapshot }] = await Promise.all([
    import("../../db/sqlite.ts"),
    import("./audit.ts"),
  ]);
  return (databaseFile) => {
    const database = openForReading(databaseFile);
    return (request) => checkSnapshot(database, "sqlite", request);
  };
});
