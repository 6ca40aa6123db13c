import { smoke } from "./smoke.ts";

process.exitCode = await smoke(process.argv[2], process.env, (line) => console.log(line));
