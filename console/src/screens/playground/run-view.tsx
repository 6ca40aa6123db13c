import { Link } from "@tanstack/solid-router";
import Download from "lucide-solid/icons/download";
import { createSignal, For, Match, onCleanup, Show, Switch } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";
import { Badge } from "../../design/badge.tsx";
import { Button, buttonClass } from "../../design/button.tsx";
import { CopyButton, CopyableId } from "../../design/copy.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Fact, Facts } from "../../design/layout.tsx";
import ui from "../../design/ui.module.css";
import { Money } from "../../design/values.tsx";
import { duration } from "../../format/numbers.ts";
import { WordBadge } from "../../lists/parts.tsx";
import { OUTCOME_WORDS, STATE_WORDS, type Words, wordsOf } from "../../words/words.ts";
import { Outcome } from "../requests/outcome.tsx";
import { fileAddress, fileName } from "../tasks/file-address.ts";
import { isOpen, type MediaState } from "./media-answer.ts";
import { curlOf, type Job, type MediaKind, readable } from "./media-job.ts";
import type { Run, RunView } from "./media-run.ts";
import { MediaText } from "./media-text.tsx";
import styles from "./media.module.css";

const SENDING: Words = {
  name: "Sent",
  tone: "run",
  says: "The gateway has the request and has not answered yet.",
};
const TICK_MS = 1_000;

/** One job: how far it is, what it made, and what that cost. */
export function RunCard(props: { readonly run: Run; readonly onReuse: (run: Run) => void }) {
  const view = () => props.run.view();
  const words = (): Words => stateWords(view().state);
  const says = (): string => (view().state === "failed" ? faultWords(view()) : words()).says;
  return (
    <article class={styles.run} aria-label={`${props.run.job.model}: ${props.run.job.prompt}`}>
      <header class={styles.runHead}>
        <WordBadge words={words()} />
        <Show when={view().provider === "sandbox"}>
          <Badge tone="warn">Sandbox</Badge>
        </Show>
        <code class={styles.runModel}>{props.run.job.model}</code>
        <span class={styles.runActions}>
          <Button kind="quiet" onClick={() => props.onReuse(props.run)}>
            Use again
          </Button>
          <Cancel run={props.run} />
        </span>
      </header>
      <p class={styles.runPrompt}>{props.run.job.prompt}</p>
      <p class="visually-hidden" role="status">
        {says()}
      </p>
      <Show when={isOpen(view().state)}>
        <Progress run={props.run} />
      </Show>
      <Show when={view().state === "failed"}>
        <Outcome words={faultWords(view())}>{faultText(view())}</Outcome>
      </Show>
      <Show when={view().state === "cancelled"}>
        <p class={ui.soft}>{STATE_WORDS.cancelled.says}</p>
      </Show>
      <Show when={view().files.length > 0}>
        <Gallery kind={props.run.kind} files={view().files} />
      </Show>
      <Show when={view().warnings.length > 0}>
        <ul class={styles.warnings} aria-label="Changes that the gateway made to the request">
          <For each={view().warnings}>{(warning) => <li>{warning}</li>}</For>
        </ul>
      </Show>
      <RunFacts run={props.run} />
      <Show when={view().state !== "sending"}>
        <Raw run={props.run} />
      </Show>
    </article>
  );
}

function stateWords(state: MediaState): Words {
  return state === "sending" ? SENDING : wordsOf(STATE_WORDS, state);
}

function faultWords({ fault }: RunView): Words {
  return fault?.type === undefined ? STATE_WORDS.failed : wordsOf(OUTCOME_WORDS, fault.type);
}

function faultText({ fault }: RunView): string {
  return fault?.message ?? "";
}

/** The states of a job, with how long it has been in the present one. */
function Progress(props: { readonly run: Run }) {
  const [nowMs, setNowMs] = createSignal(Date.now());
  const timer = setInterval(() => setNowMs(Date.now()), TICK_MS);
  onCleanup(() => clearInterval(timer));
  const view = () => props.run.view();
  const isTask = (): boolean => view().taskId !== undefined;
  return (
    <div class={styles.progress}>
      <Show when={isTask()}>
        <ol>
          <For each={["pending", "running", "completed"] as const}>
            {(state) => (
              <li
                data-at={stepAt(state, view().state)}
                aria-current={state === view().state ? "step" : undefined}
              >
                {STATE_WORDS[state].name}
              </li>
            )}
          </For>
        </ol>
      </Show>
      <p class={styles.elapsed}>
        {stateWords(view().state).says} <span class={ui.number}>{seconds(nowMs() - props.run.sentMs)}</span>
      </p>
      <Show when={view().isUnreached}>
        <p class={ui.fault}>The gateway could not be reached just now. The page asks again.</p>
      </Show>
    </div>
  );
}

const ORDER = ["sending", "pending", "running", "completed"];

function stepAt(step: MediaState, present: MediaState): "done" | "now" | "next" {
  const distance = ORDER.indexOf(step) - ORDER.indexOf(present);
  return distance < 0 ? "done" : distance === 0 ? "now" : "next";
}

function seconds(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : duration(ms);
}

/** The files of a job: an image opens in full, a video plays where it stands. */
function Gallery(props: { readonly kind: MediaKind; readonly files: readonly string[] }) {
  const session = useQuery(() => sessionQuery);
  const [shown, setShown] = createSignal<number>();
  const address = (at: number): string => fileAddress(props.files[at] ?? "", session.data?.public_url ?? "");
  return (
    <div class={styles.gallery} data-few={props.files.length === 1 ? "" : undefined}>
      <For each={props.files}>
        {(_, i) => (
          <File
            kind={props.kind}
            address={address(i())}
            at={i() + 1}
            of={props.files.length}
            onOpen={() => setShown(i())}
          />
        )}
      </For>
      <Dialog
        title={`Image ${(shown() ?? 0) + 1} of ${props.files.length}`}
        open={shown() !== undefined}
        onClose={() => setShown()}
        isWide
      >
        <Show when={shown() !== undefined}>
          <img class={styles.full} src={address(shown() ?? 0)} alt={`Result ${(shown() ?? 0) + 1}`} />
          <div class={styles.fullActions}>
            <Button disabled={shown() === 0} onClick={() => setShown((shown() ?? 0) - 1)}>
              Previous
            </Button>
            <Button
              disabled={(shown() ?? 0) + 1 >= props.files.length}
              onClick={() => setShown((shown() ?? 0) + 1)}
            >
              Next
            </Button>
            <DownloadLink address={address(shown() ?? 0)} />
          </div>
        </Show>
      </Dialog>
    </div>
  );
}

function File(props: {
  readonly kind: MediaKind;
  readonly address: string;
  readonly at: number;
  readonly of: number;
  readonly onOpen: () => void;
}) {
  const [isBroken, setBroken] = createSignal(false);
  return (
    <figure class={styles.file}>
      <Switch>
        <Match when={isBroken()}>
          <p class={styles.broken}>The file could not be loaded. Its address is valid for an hour.</p>
        </Match>
        <Match when={props.kind === "image"}>
          <button
            type="button"
            class={styles.open}
            aria-label={`Open image ${props.at}`}
            onClick={props.onOpen}
          >
            <img src={props.address} alt={`Result ${props.at}`} onError={() => setBroken(true)} />
          </button>
        </Match>
        <Match when={props.kind === "video"}>
          <video
            src={props.address}
            controls
            preload="metadata"
            aria-label={`Result ${props.at}`}
            onError={() => setBroken(true)}
          />
        </Match>
      </Switch>
      <figcaption>
        <span class={ui.hint}>
          {props.at} of {props.of}
        </span>
        <DownloadLink address={props.address} />
      </figcaption>
    </figure>
  );
}

function DownloadLink(props: { readonly address: string }) {
  return (
    <a class={buttonClass()} href={props.address} download={fileName(props.address)}>
      <Download size={14} aria-hidden="true" /> Download
    </a>
  );
}

function RunFacts(props: { readonly run: Run }) {
  const view = () => props.run.view();
  return (
    <div class={styles.facts}>
      <Facts>
        <Fact name="Charged">
          <Show when={view().credit} fallback={<span class={ui.soft}>{uncharged(view().state)}</span>}>
            {(credit) => <Money credits={credit()} />}
          </Show>
        </Fact>
        <Fact name="Time">
          <span class={ui.number}>{times(view())}</span>
        </Fact>
        <Show when={view().taskId}>
          {(id) => (
            <Fact name="Task">
              <span class={ui.copyable}>
                <Link to="/tasks/$id" params={{ id: id() }}>
                  <code>{id()}</code>
                </Link>
                <CopyButton text={id()} what="task id" />
              </span>
            </Fact>
          )}
        </Show>
        <Show when={view().requestId}>
          {(id) => (
            <Fact name="Request">
              <Show when={hasRow(view())} fallback={<CopyableId id={id()} what="request id" />}>
                <span class={ui.copyable}>
                  <Link to="/requests/$id" params={{ id: id() }}>
                    <code>{id()}</code>
                  </Link>
                  <CopyButton text={id()} what="request id" />
                </span>
              </Show>
            </Fact>
          )}
        </Show>
      </Facts>
    </div>
  );
}

/** A request has a row once it has ended; one that was refused has none. */
function hasRow({ state, taskId, credit }: RunView): boolean {
  return credit !== undefined || (taskId !== undefined && !isOpen(state));
}

function uncharged(state: MediaState): string {
  return isOpen(state) ? "When it completes" : "Nothing";
}

/** From the call to the end; of a task also how long it waited and ran, by the gateway's clock. */
function times({ tookMs, createdSec, startedSec, endedSec }: RunView): string {
  if (tookMs === undefined) return "–";
  if (createdSec === undefined || startedSec === undefined || endedSec === undefined) return duration(tookMs);
  const waited = (startedSec - createdSec) * 1_000;
  const ran = (endedSec - startedSec) * 1_000;
  return `${duration(tookMs)} (waited ${seconds(waited)}, ran ${seconds(ran)})`;
}

function Raw(props: { readonly run: Run }) {
  const session = useQuery(() => sessionQuery);
  const view = () => props.run.view();
  const call = (job: Job): string => curlOf(props.run.kind, session.data?.public_url ?? "", job);
  const shortened = (): Job => JSON.parse(readable(JSON.stringify(props.run.job))) as Job;
  return (
    <div class={styles.raws}>
      <MediaText title="Request" text={JSON.stringify(props.run.job)} />
      <Show when={view().raw}>
        {(raw) => <MediaText title={`Response, HTTP ${raw().status}`} text={raw().body} />}
      </Show>
      <MediaText title="As curl" text={call(props.run.job)} shown={call(shortened())} />
    </div>
  );
}

/** A task that waits ends at once and costs nothing: it is not asked for twice. */
function Cancel(props: { readonly run: Run }) {
  const [isSending, setSending] = createSignal(false);
  const [fault, setFault] = createSignal<string>();
  const cancel = async (): Promise<void> => {
    setSending(true);
    setFault(undefined);
    try {
      await props.run.cancel();
    } catch (error) {
      setFault((error as Error).message);
    } finally {
      setSending(false);
    }
  };
  return (
    <>
      <Show when={props.run.view().state === "pending"}>
        <Button kind="danger" disabled={isSending()} onClick={() => void cancel()}>
          {isSending() ? "Cancelling…" : "Cancel"}
        </Button>
      </Show>
      <Show when={fault()}>
        {(message) => (
          <span class={ui.fault} role="alert">
            It was not cancelled. {message()}
          </span>
        )}
      </Show>
    </>
  );
}
