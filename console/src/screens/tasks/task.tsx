import { useQueryClient } from "@tanstack/solid-query";
import { Link, useParams } from "@tanstack/solid-router";
import Download from "lucide-solid/icons/download";
import { createSignal, For, Match, Show, Switch } from "solid-js";
import { ApiError } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";
import { Button, buttonClass } from "../../design/button.tsx";
import { CopyableId } from "../../design/copy.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { Columns, Fact, Facts, Figure, Figures, Page, Panel } from "../../design/layout.tsx";
import { nowSec } from "../../design/now.ts";
import { Empty, Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { Time } from "../../design/values.tsx";
import { credits, dollars } from "../../format/money.ts";
import { duration } from "../../format/numbers.ts";
import { exactTime, relativeTime } from "../../format/times.ts";
import { useIsOperator } from "../../lists/names.ts";
import { OwnerLink, WordBadge } from "../../lists/parts.tsx";
import { OUTCOME_WORDS, STATE_WORDS, type Words, wordsOf } from "../../words/words.ts";
import { Outcome } from "../requests/outcome.tsx";
import { fileAddress, fileName } from "./file-address.ts";
import { cancelTask, type Output, readTask, type TaskDetail } from "./types.ts";
import styles from "./tasks.module.css";

const EVERY_MS = 2_000;

/** What became of this one? */
export function TaskPage() {
  const params = useParams({ from: "/tasks/$id" });
  const task = useQuery(() => ({
    queryKey: ["tasks", "one", params().id],
    queryFn: ({ signal }: { signal: AbortSignal }) => readTask(params().id, signal),
    reconcile: "url",
    refetchInterval: ({ state }: { state: { data?: TaskDetail | undefined } }) =>
      state.data !== undefined && state.data.ended_at === null ? EVERY_MS : false,
  }));
  const isMissing = (): boolean => task.error instanceof ApiError && task.error.status === 404;
  return (
    <Page
      title="Task"
      aside={
        <>
          <CopyableId id={params().id} what="task id" />
          <Show when={task.isSuccess && task.data}>
            {(data) => <WordBadge words={wordsOf(STATE_WORDS, data().status)} />}
          </Show>
        </>
      }
      actions={
        <>
          <Link to="/tasks" class={ui.soft}>
            All tasks
          </Link>
          <Show when={task.isSuccess && task.data}>{(data) => <Cancel task={data()} />}</Show>
        </>
      }
    >
      <Show when={!isMissing()} fallback={<Missing />}>
        <Loaded of={task}>{(data) => <TaskBody task={data()} />}</Loaded>
      </Show>
    </Page>
  );
}

function Missing() {
  return (
    <Empty title="There is no task of this id">
      <p>Ended tasks are kept for a while, then only the request's row remains.</p>
    </Empty>
  );
}

function TaskBody(props: { readonly task: TaskDetail }) {
  const task = () => props.task;
  return (
    <>
      <p class="visually-hidden" role="status">
        {wordsOf(STATE_WORDS, task().status).says}
      </p>
      <Outcome words={stateWords(task())}>{task().error?.message ?? ""}</Outcome>
      <Figures>
        <Figure
          name="Charged, cr"
          value={task().credit === null ? "–" : credits(task().credit ?? 0)}
          note={creditNote(task())}
        />
        <Figure name="Waited" value={duration(waitedMs(task()))} note={exactTime(task().created_at)} />
        <Figure
          name={task().ended_at === null ? "Runs for" : "Ran for"}
          value={task().started_at === null ? "–" : duration(ranMs(task()))}
          note={`Times out after ${duration(task().timeout * 1_000)}`}
        />
        <Figure
          name="Attempts"
          value={task().attempts}
          note={task().attempts > 1 ? "Sent to a provider more than once" : ""}
        />
      </Figures>
      <Panel title={task().kind === "image" ? "Images" : "Videos"}>
        <Outputs task={task()} />
      </Panel>
      <Columns>
        <Panel title="States">
          <States task={task()} />
        </Panel>
        <Panel title="Details">
          <Details task={task()} />
        </Panel>
      </Columns>
      <Show when={task().warnings.length > 0}>
        <Panel title="Changes that the gateway made to the request">
          <ul class={styles.warnings}>
            <For each={task().warnings}>{(warning) => <li>{warning}</li>}</For>
          </ul>
        </Panel>
      </Show>
    </>
  );
}

/** The words for a task: of its error where it has failed, else of its state. */
function stateWords({ status, error }: TaskDetail): Words {
  return error === null ? wordsOf(STATE_WORDS, status) : wordsOf(OUTCOME_WORDS, error.type);
}

function creditNote({ credit, ended_at }: TaskDetail): string {
  if (credit !== null) return dollars(credit);
  return ended_at === null ? "Charged when it completes" : "Not charged";
}

function waitedMs({ created_at, started_at, ended_at }: TaskDetail): number {
  return Math.max(0, ((started_at ?? ended_at ?? nowSec()) - created_at) * 1_000);
}

function ranMs({ started_at, ended_at }: TaskDetail): number {
  return Math.max(0, ((ended_at ?? nowSec()) - (started_at ?? 0)) * 1_000);
}

function States(props: { readonly task: TaskDetail }) {
  return (
    <ol class={styles.states}>
      <For each={props.task.states}>
        {({ state, at }, i) => {
          const before = () => props.task.states[i() - 1];
          return (
            <li data-tone={wordsOf(STATE_WORDS, state).tone}>
              <WordBadge words={wordsOf(STATE_WORDS, state)} />
              <Time at={at} />
              <span class={styles.since}>
                <Show when={before()} fallback={exactTime(at)}>
                  {(one) => `after ${duration((at - one().at) * 1_000)}`}
                </Show>
              </span>
            </li>
          );
        }}
      </For>
    </ol>
  );
}

function Details(props: { readonly task: TaskDetail }) {
  const task = () => props.task;
  const isOver = (): boolean => task().ended_at !== null;
  return (
    <Facts>
      <Fact name="Model">
        <Link to="/models/$id" params={{ id: task().model }}>
          {task().model}
        </Link>
      </Fact>
      <Fact name="Provider">{task().provider ?? (isOver() ? "None" : "Not begun yet")}</Fact>
      <Fact name="Job at the provider">
        <Show when={task().job} fallback={isOver() ? "None" : "None yet"}>
          {(id) => <CopyableId id={id()} what="job id" />}
        </Show>
      </Fact>
      <Fact name="Request">
        <Show when={isOver()} fallback={<CopyableId id={task().request_id} what="request id" />}>
          <Link to="/requests/$id" params={{ id: task().request_id }}>
            <code>{task().request_id}</code>
          </Link>
        </Show>
      </Fact>
      <Fact name="Account">
        <OwnerLink to="/accounts/$id" id={task().account_id} />
      </Fact>
      <Fact name="Key">
        <OwnerLink to="/keys/$id" id={task().key_id} />
      </Fact>
      <Show when={task().files_until}>
        {(until) => (
          <Fact name="Files are kept until">
            <Time at={until()} /> <span class={ui.soft}>{exactTime(until())}</span>
          </Fact>
        )}
      </Show>
    </Facts>
  );
}

/** The files of a task, to be looked at and kept. */
function Outputs(props: { readonly task: TaskDetail }) {
  return (
    <Show when={props.task.outputs.length > 0} fallback={<NoOutputs task={props.task} />}>
      <div class={styles.outputs}>
        <For each={props.task.outputs}>{(output, i) => <OutputFigure output={output} at={i() + 1} />}</For>
      </div>
    </Show>
  );
}

function NoOutputs(props: { readonly task: TaskDetail }) {
  const task = () => props.task;
  return (
    <Switch fallback={<p class={ui.soft}>The task ended without files.</p>}>
      <Match when={task().ended_at === null}>
        <p class={ui.soft}>Files appear here when the task has completed.</p>
      </Match>
      <Match when={task().status === "completed"}>
        <p class={ui.soft}>The files are not kept any more.</p>
      </Match>
    </Switch>
  );
}

function OutputFigure(props: { readonly output: Output; readonly at: number }) {
  const session = useQuery(() => sessionQuery);
  const [isBroken, setBroken] = createSignal(false);
  const address = (): string => fileAddress(props.output.url, session.data?.public_url ?? "");
  const type = (): string => props.output.media_type;
  return (
    <figure class={styles.output}>
      <Switch fallback={<p class={ui.soft}>This kind of file cannot be shown here.</p>}>
        <Match when={isBroken()}>
          <p class={ui.soft}>
            The file could not be loaded. Its address may have expired: load the page again.
          </p>
        </Match>
        <Match when={type().startsWith("image/")}>
          <img src={address()} alt={`Output ${props.at}`} loading="lazy" onError={() => setBroken(true)} />
        </Match>
        <Match when={type().startsWith("video/")}>
          <video
            src={address()}
            controls
            preload="metadata"
            aria-label={`Output ${props.at}`}
            onError={() => setBroken(true)}
          />
        </Match>
      </Switch>
      <figcaption>
        <span>
          {type()} · {sizeText(props.output.bytes)}
        </span>
        <a class={buttonClass()} href={address()} download={fileName(address())}>
          <Download size={14} aria-hidden="true" /> Download
        </a>
      </figcaption>
    </figure>
  );
}

function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Asks before it cancels a task. */
function Cancel(props: { readonly task: TaskDetail }) {
  const queries = useQueryClient();
  const isOperator = useIsOperator();
  const [isAsking, setAsking] = createSignal(false);
  const [isSending, setSending] = createSignal(false);
  const [error, setError] = createSignal<Error>();
  const open = (asking: boolean): void => {
    setError(undefined);
    setAsking(asking);
  };
  const send = async (): Promise<void> => {
    setSending(true);
    setError(undefined);
    try {
      await cancelTask(props.task, isOperator());
      setAsking(false);
    } catch (caught) {
      setError(caught as Error);
    } finally {
      setSending(false);
      await queries.invalidateQueries({ queryKey: ["tasks"] });
    }
  };
  return (
    <Show when={props.task.status === "pending" || isAsking()}>
      <Button kind="danger" onClick={() => open(true)}>
        Cancel task
      </Button>
      <Dialog title="Cancel this task?" open={isAsking()} onClose={() => open(false)}>
        <p>
          It was created {relativeTime(props.task.created_at, nowSec())} and still waits. It ends at once and
          costs nothing. Once a provider has begun, a task cannot be cancelled any more.
        </p>
        <Show when={error()}>
          {(caught) => (
            <p role="alert" class={ui.fault}>
              It was not cancelled. {caught().message}
            </p>
          )}
        </Show>
        <DialogActions>
          <Button onClick={() => open(false)}>Keep it</Button>
          <Button kind="danger" disabled={isSending()} onClick={() => void send()}>
            {isSending() ? "Cancelling…" : "Cancel task"}
          </Button>
        </DialogActions>
      </Dialog>
    </Show>
  );
}
