import type { ListedProtocolId } from "../../src/core/model.ts";
import { BENCHMARK_ANSWERS, type BenchmarkFormat } from "../../test/upstream/benchmark-answers.ts";
import { type AgentRequest, ownRequests, recordedRequests } from "./agent-requests.ts";
import { markdownTable } from "./table.ts";
import { cpuMicros, type TimingPlan, type Work } from "./timing.ts";
import { createRequestReader, createStreamReader, type Way, WAYS } from "./ways.ts";

// µs of CPU to read a request and to pass a streamed chunk on, by the protocols alone: no network, no books.

const PLANS: Readonly<Record<"quick" | "full", TimingPlan>> = {
  quick: { rounds: 5, roundMs: 20, warmMs: 300, warmRuns: 20_000 },
  full: { rounds: 15, roundMs: 40, warmMs: 1_500, warmRuns: 20_000 },
};

/** µs at most, by size: of a request in its provider's format, and of one that is translated. */
const GOALS: Readonly<
  Record<AgentRequest["kilobytes"], { relayed: number; translated: number } | undefined>
> = {
  1: undefined,
  13: { relayed: 60, translated: 150 },
  125: { relayed: 600, translated: 1_500 },
};

const WORDS: Readonly<Record<ListedProtocolId, string>> = {
  compat_chat_completions: "chat completions",
  compat_messages: "messages",
  compat_generate_content: "generateContent",
};
const ANSWERS: Readonly<Record<ListedProtocolId, BenchmarkFormat>> = {
  compat_chat_completions: "chat",
  compat_messages: "messages",
  compat_generate_content: "generate",
};

const CHUNKS = 300;
/** A chunk's text is a short word, as most models send it. */
const CHUNK_TEXT = " wind";

interface Row {
  readonly cells: readonly string[];
  readonly work: Work;
  /** The unit is a part of the work: a chunk of a stream. */
  readonly units: number;
  readonly goal: number | undefined;
}

/** The tables of what reading costs. */
export function readingTables(pace: "quick" | "full"): string {
  const requests = WAYS.flatMap((way) => {
    const own = ownRequests(way.asked, way.modelId, true).map((request) =>
      requestRow(way, request, goalOf(way, request)),
    );
    const recorded = recordedRequests(way.asked, way.modelId).map((request) => requestRow(way, request));
    return [...own, ...recorded];
  });
  const chunks = WAYS.flatMap((way) => chunkRows(way));
  const rows = [...requests, ...chunks];
  const micros = cpuMicros(
    rows.map(({ work }) => work),
    PLANS[pace],
  );
  const shown = rows.map(({ cells, units, goal }, place) => {
    const each = (micros[place] ?? 0) / units;
    const judged = goal === undefined ? [] : [`${goal} ${each <= goal ? "✓" : "✗"}`];
    return cells.concat(each.toFixed(each < 10 ? 2 : 0), judged);
  });
  return [
    markdownTable(
      ["way", "request", "bytes", "bytes upstream", "µs", "goal"],
      shown.slice(0, requests.length),
    ),
    markdownTable(["way", "a push of the stage has", "µs for a chunk"], shown.slice(requests.length)),
  ].join("\n\n");
}

function wayName({ asked, spoken }: Way): string {
  return asked === spoken ? `${WORDS[asked]}, relayed` : `${WORDS[asked]} into ${WORDS[spoken]}`;
}

function goalOf({ asked, spoken }: Way, { kilobytes }: AgentRequest): number | undefined {
  return GOALS[kilobytes]?.[asked === spoken ? "relayed" : "translated"];
}

function requestRow(way: Way, request: AgentRequest, goal?: number): Row {
  const read = createRequestReader(way);
  const name = [wayName(way), request.name, String(request.body.length)];
  try {
    const sent = read(request);
    return {
      cells: [...name, String(sent.length)],
      work: { run: () => read(request).length },
      units: 1,
      goal,
    };
  } catch (error) {
    return {
      cells: [...name, `refused: ${(error as Error).message}`],
      work: { run: () => 0 },
      units: 1,
      goal,
    };
  }
}

/** Chunks that come one by one, and those of a provider that is faster than we are. */
function chunkRows(way: Way): Row[] {
  const read = createStreamReader(way);
  const { body } = BENCHMARK_ANSWERS[ANSWERS[way.spoken]].stream(
    Array.from({ length: CHUNKS }, () => CHUNK_TEXT),
  );
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
  const forms = [
    { name: "one chunk", pieces: piecesOf(bytes, 1) },
    { name: "16 chunks", pieces: piecesOf(bytes, 16) },
  ];
  return forms.map(({ name, pieces }) => ({
    cells: [wayName(way), name],
    work: { run: () => read(pieces) },
    units: CHUNKS,
    goal: undefined,
  }));
}

/** The stream in pieces of so many events. */
function piecesOf(stream: Uint8Array, events: number): Uint8Array[] {
  const all = new TextDecoder().decode(stream).split(/(?<=\n\n)/);
  const count = Math.ceil(all.length / events);
  return Array.from({ length: count }, (_, place) =>
    new TextEncoder().encode(all.slice(place * events, (place + 1) * events).join("")),
  );
}
