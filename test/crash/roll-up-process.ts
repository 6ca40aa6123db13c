import { openWork } from "../../src/gateway/admin/thread/work.ts";
import type { ThreadPlace } from "../../src/gateway/admin/thread/messages.ts";

// Rolls up all that is there, as the thread of the operators' reads does, and says when it begins.

const work = openWork(JSON.parse(process.argv[2] ?? "") as ThreadPlace);
console.log("begun");
for (let isMore = true; isMore;) {
  const done = await work({ rollUp: true });
  isMore = "more" in done && done.more;
}
process.exit();
