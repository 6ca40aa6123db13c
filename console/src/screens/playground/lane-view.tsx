import { Link } from "@tanstack/solid-router";
import { createEffect, createSignal, For, Match, on, Show, Switch } from "solid-js";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { CopyButton } from "../../design/copy.tsx";
import { TextArea } from "../../design/field.tsx";
import { Empty } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { Money } from "../../design/values.tsx";
import { count, duration } from "../../format/numbers.ts";
import { shortId } from "../../lists/ids.ts";
import { CODE_WORDS, OUTCOME_WORDS, wordsOf } from "../../words/words.ts";
import type { Message, Part } from "./conversation.ts";
import { CallDialog } from "./call-dialog.tsx";
import type { Fault, Lane, Run } from "./lane.ts";
import { Markdown } from "./markdown.tsx";
import styles from "./playground.module.css";

/** Words that the gateway has no error for. */
const WORDS = {
  ...CODE_WORDS,
  ...OUTCOME_WORDS,
  offline: { name: "Not reached", tone: "bad", says: "The gateway cannot be reached." },
  broken_off: { name: "Broken off", tone: "bad", says: "The answer did not come to its end." },
} as const;

/** A conversation, with what each answer cost and took. */
export function LaneView(props: { readonly lane: Lane; readonly model: string }) {
  let end: HTMLDivElement | undefined;
  // The newest text stays in sight, unless the reader has scrolled away from it.
  createEffect(
    on(
      () => props.lane.entries.at(-1)?.run?.answered,
      () => {
        const { scrollHeight } = document.documentElement;
        if (scrollHeight - scrollY - innerHeight < 240) end?.scrollIntoView({ block: "nearest" });
      },
      { defer: true },
    ),
  );
  return (
    <div class={styles.lane}>
      <Show
        when={props.lane.entries.length > 0}
        fallback={
          <Empty title="Nothing said yet">
            <p>The answer streams in here, with what it cost and how long it took.</p>
          </Empty>
        }
      >
        <ol class={styles.entries} aria-label={`Conversation with ${props.model}`}>
          <For each={props.lane.entries}>
            {(entry, at) => (
              <li>
                <Show when={entry.message}>{(message) => <Said message={message()} />}</Show>
                <Show when={entry.run}>
                  {(run) => (
                    <Answer
                      run={run()}
                      isLast={at() === props.lane.entries.length - 1}
                      onAgain={() => void props.lane.again()}
                      onResults={(results) => void props.lane.say(results)}
                    />
                  )}
                </Show>
              </li>
            )}
          </For>
        </ol>
      </Show>
      <div ref={(element) => (end = element)} class={styles.end} />
      <p class="visually-hidden" role="status">
        {props.lane.isRunning() ? "Answering" : stateName(props.lane.entries.at(-1)?.run)}
      </p>
    </div>
  );
}

function stateName(run: Run | undefined): string {
  const names = { running: "Answering", done: "Answered", stopped: "Stopped", failed: "Failed" };
  return run === undefined ? "" : names[run.state];
}

/** What the reader has said, or a result of a tool. */
function Said(props: { readonly message: Message }) {
  const parts = (): readonly Part[] => {
    const { content } = props.message;
    return typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  };
  return (
    <div class={styles.said} data-role={props.message.role}>
      <span class={ui.label}>{props.message.role === "tool" ? "Result of the tool" : "You"}</span>
      <For each={parts()}>
        {(part, at) => (
          <Switch>
            <Match when={part.type === "image_url" && part.image_url.url}>
              {(url) => <img class={styles.image} src={url()} alt="Attached" />}
            </Match>
            <Match when={part.type === "file" && part.file.filename}>
              {(name) => <span class={styles.file}>{name()}</span>}
            </Match>
            <Match when={part.type === "text" && part.text}>
              {(text) => (
                <Show when={at() < parts().length - 1} fallback={<p class={styles.text}>{text()}</p>}>
                  <details class={styles.fold}>
                    <summary>{text().split(":\n", 1)[0]}</summary>
                    <p class={styles.text}>{text()}</p>
                  </details>
                </Show>
              )}
            </Match>
          </Switch>
        )}
      </For>
    </div>
  );
}

/** An answer: thinking folded, text, calls with their results, and the facts of the request. */
function Answer(props: {
  readonly run: Run;
  readonly isLast: boolean;
  readonly onAgain: () => void;
  readonly onResults: (results: readonly Message[]) => void;
}) {
  const [isShown, setShown] = createSignal(false);
  const answered = () => props.run.answered;
  const isRunning = (): boolean => props.run.state === "running";
  return (
    <article class={styles.answer} aria-busy={isRunning()}>
      <header class={styles.answerHead}>
        <span class={ui.label}>{answered().model ?? props.run.request.model}</span>
        <Show when={props.run.isSandbox}>
          <Badge tone="warn">Sandbox</Badge>
        </Show>
        <Switch>
          <Match when={isRunning()}>
            <Badge tone="run">Answering</Badge>
          </Match>
          <Match when={props.run.state === "stopped"}>
            <Badge>Stopped</Badge>
          </Match>
          <Match when={answered().finish === "length"}>
            <Badge tone="warn">Cut at the most tokens</Badge>
          </Match>
        </Switch>
      </header>
      <Show when={answered().thinking !== ""}>
        <details class={styles.fold}>
          <summary>{isRunning() && answered().text === "" ? "Thinking…" : "Thinking"}</summary>
          <div class={styles.thinking}>
            <Markdown text={answered().thinking} />
          </div>
        </details>
      </Show>
      <Show when={answered().text !== ""}>
        <Show when={isJson(props.run)} fallback={<Markdown text={answered().text} />}>
          <pre class={styles.arguments}>{pretty(answered().text)}</pre>
        </Show>
      </Show>
      <Show when={answered().refusal !== ""}>
        <p class={styles.text}>{answered().refusal}</p>
      </Show>
      <For each={answered().images}>
        {(url) => (
          <a href={url} download="image">
            <img class={styles.image} src={url} alt="Made by the model" />
          </a>
        )}
      </For>
      <Show when={answered().calls.length > 0}>
        <Calls run={props.run} isOpen={props.isLast && !isRunning()} onResults={props.onResults} />
      </Show>
      <Show when={props.run.fault}>{(fault) => <FaultNote fault={fault()} />}</Show>
      <For each={props.run.warnings}>
        {(warning) => (
          <p class={styles.warning}>
            <Badge tone="warn">Warning</Badge> {warning}
          </p>
        )}
      </For>
      <footer class={styles.facts}>
        <Show when={answered().credit}>{(credit) => <Money credits={credit()} />}</Show>
        <Show when={props.run.firstMs}>{(ms) => <span>first token {duration(ms())}</span>}</Show>
        <Show when={props.run.totalMs}>{(ms) => <span>total {duration(ms())}</span>}</Show>
        <Show when={answered().tokens}>
          {(tokens) => (
            <span>
              {count(tokens().input)} in{tokens().cached > 0 ? ` (${count(tokens().cached)} cached)` : ""} ·{" "}
              {count(tokens().output)} out
              {tokens().reasoning > 0 ? ` (${count(tokens().reasoning)} thinking)` : ""}
            </span>
          )}
        </Show>
        <Show when={props.run.requestId}>
          {(id) => (
            <span class={ui.copyable}>
              <Link to="/requests/$id" params={{ id: id() }} title={id()}>
                <code>{shortId(id())}</code>
              </Link>
              <CopyButton text={id()} what="request id" />
            </span>
          )}
        </Show>
        <Show when={!isRunning()}>
          <span class={styles.acts}>
            <Show when={answered().text !== ""}>
              <CopyButton text={answered().text} what="answer" />
            </Show>
            <Button kind="quiet" class={ui.compact} onClick={() => setShown(true)}>
              Code
            </Button>
            <Show when={props.isLast}>
              <Button kind="quiet" class={ui.compact} onClick={() => props.onAgain()}>
                {props.run.state === "failed" ? "Try again" : "Regenerate"}
              </Button>
            </Show>
          </span>
        </Show>
      </footer>
      <Show when={isShown()}>
        <CallDialog run={props.run} onClose={() => setShown(false)} />
      </Show>
    </article>
  );
}

/** Whether the request asked for JSON, in which nothing is marked. */
function isJson({ request }: Run): boolean {
  return request["response_format"] !== undefined;
}

/** What went wrong, and what the reader can do. */
function FaultNote(props: { readonly fault: Fault }) {
  const words = () => wordsOf(WORDS, props.fault.type);
  return (
    <div class={styles.fault} role="alert">
      <strong>{words().name}</strong>
      <p>{props.fault.message}</p>
      <Show when={props.fault.field}>
        {(field) => (
          <p>
            Field: <code>{field()}</code>
          </p>
        )}
      </Show>
      <p class={ui.soft}>
        {words().says} {words().todo}
      </p>
    </div>
  );
}

/** The functions that the model calls. The results of the last ones can be written and sent. */
function Calls(props: {
  readonly run: Run;
  readonly isOpen: boolean;
  readonly onResults: (results: readonly Message[]) => void;
}) {
  const [results, setResults] = createSignal<Readonly<Record<string, string>>>({});
  const resultOf = (id: string): string => results()[id] ?? '{"ok": true}';
  const submit = (): void =>
    props.onResults(
      props.run.answered.calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: resultOf(id) })),
    );
  return (
    <form
      class={styles.calls}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <For each={props.run.answered.calls}>
        {(call) => (
          <div class={styles.call}>
            <span>
              Calls <code>{call.name}</code>
            </span>
            <pre class={styles.arguments}>{pretty(call.arguments)}</pre>
            <Show when={props.isOpen}>
              <TextArea
                label={`Result of ${call.name}`}
                hint="What your function would give back. The model reads it as text."
                rows={2}
                value={resultOf(call.id)}
                onInput={(event) =>
                  setResults((before) => ({ ...before, [call.id]: event.currentTarget.value }))
                }
              />
            </Show>
          </div>
        )}
      </For>
      <Show when={props.isOpen}>
        <div>
          <Button type="submit" kind="primary">
            {props.run.answered.calls.length === 1 ? "Send the result" : "Send the results"}
          </Button>
        </div>
      </Show>
    </form>
  );
}

/** JSON over several lines; a text that is none yet stays as it is. */
function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
