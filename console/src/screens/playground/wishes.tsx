import { createSignal, Show } from "solid-js";
import { Button } from "../../design/button.tsx";
import { SelectField, TextArea } from "../../design/field.tsx";
import { fieldsOf, readJson, valuesFor } from "../../design/schema-fields.ts";
import { type FormValues, SchemaForm } from "../../design/schema-form.tsx";
import { Tabs } from "../../design/tabs.tsx";
import ui from "../../design/ui.module.css";
import type { Wishes } from "./conversation.ts";
import type { Model } from "./model-picker.tsx";
import styles from "./playground.module.css";

/** Members of a request that the page fills by itself; `n`: one answer is shown. */
const OWN = ["model", "messages", "stream", "stream_options", "tools", "response_format", "n"];

const EXAMPLE_TOOL = JSON.stringify(
  [
    {
      name: "weather",
      description: "The weather of a city",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  ],
  null,
  2,
);
const EXAMPLE_SCHEMA = JSON.stringify(
  {
    type: "object",
    properties: { title: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
    required: ["title", "tags"],
    additionalProperties: false,
  },
  null,
  2,
);

/** What was typed and chosen, right or not. */
export interface WishesDraft {
  readonly system: string;
  readonly tools: string;
  readonly format: "text" | "json_object" | "json_schema";
  readonly schema: string;
  readonly values: FormValues;
}

const NEW: WishesDraft = { system: "", tools: "", format: "text", schema: EXAMPLE_SCHEMA, values: {} };

/** What requests ask for beside the conversation, as the reader has set it. */
export function createWishes(before: WishesDraft = NEW) {
  const [system, setSystem] = createSignal(before.system);
  const [tools, setTools] = createSignal(before.tools);
  const [format, setFormat] = createSignal(before.format);
  const [schema, setSchema] = createSignal(before.schema);
  const [values, setValues] = createSignal(before.values);
  const toolsFault = (): string | undefined => faultOf(readTools(tools()));
  const schemaFault = (): string | undefined =>
    format() === "json_schema" ? faultOf(readJson(schema())) : undefined;
  const formatOf = (): Wishes["format"] => {
    if (format() === "text") return undefined;
    if (format() === "json_object") return { type: "json_object" };
    return { type: "json_schema", json_schema: { name: "answer", schema: valueOf(readJson(schema())) } };
  };
  return {
    system,
    setSystem,
    tools,
    setTools,
    toolsFault,
    format,
    setFormat,
    schema,
    setSchema,
    schemaFault,
    values,
    setValues,
    draft: (): WishesDraft => ({
      system: system(),
      tools: tools(),
      format: format(),
      schema: schema(),
      values: values(),
    }),
    /** Why no request can be made of this; absent: one can. */
    fault: (): string | undefined =>
      toolsFault() === undefined
        ? schemaFault() && "The schema of the answer is no valid JSON."
        : "The tools are no valid list.",
    /** The wishes of a request to `model`: what it has no parameter for stays away. */
    of: (model: Model | undefined): Wishes => ({
      system: system(),
      tools: (valueOf(readTools(tools())) as readonly unknown[] | undefined) ?? [],
      format: formatOf(),
      parameters: model === undefined ? {} : valuesFor(fieldsOf(model.parameter_schema, OWN), values()),
    }),
  };
}

function readTools(input: string): ReturnType<typeof readJson> {
  const read = readJson(input);
  if (read === undefined || "fault" in read) return read;
  if (!Array.isArray(read.value)) return { fault: "A list of functions: [ … ]" };
  return {
    value: read.value.map((tool: unknown) =>
      typeof tool === "object" && tool !== null && !("type" in tool && "function" in tool)
        ? { type: "function", function: tool }
        : tool,
    ),
  };
}

function faultOf(read: ReturnType<typeof readJson>): string | undefined {
  return read !== undefined && "fault" in read ? read.fault : undefined;
}

function valueOf(read: ReturnType<typeof readJson>): unknown {
  return read !== undefined && "value" in read ? read.value : undefined;
}

/** The form for them. */
export function WishesForm(props: {
  readonly wishes: ReturnType<typeof createWishes>;
  readonly models: readonly Model[];
}) {
  const [tab, setTab] = createSignal("");
  const shown = (): Model | undefined => props.models.find(({ id }) => id === tab()) ?? props.models[0];
  const set = (): number => Object.keys(props.wishes.values()).length;
  const parameters = () => (
    <Show when={shown()} keyed>
      {(model) => (
        <SchemaForm
          fields={fieldsOf(model.parameter_schema, OWN)}
          values={props.wishes.values()}
          onChange={(values) => props.wishes.setValues(values)}
        />
      )}
    </Show>
  );
  return (
    <div class={styles.wishes}>
      <TextArea
        label="System prompt"
        rows={3}
        placeholder="How the model should answer"
        value={props.wishes.system()}
        onInput={(event) => props.wishes.setSystem(event.currentTarget.value)}
      />
      <details class={styles.section}>
        <summary>
          Tools <span class={ui.soft}>{props.wishes.tools().trim() === "" ? "none" : "set"}</span>
        </summary>
        <div class={styles.sectionBody}>
          <TextArea
            label="Functions, as JSON"
            class={ui.mono}
            rows={8}
            spellcheck={false}
            hint="A list of {name, description, parameters}. Calls are shown in the answer; you write the results."
            fault={props.wishes.toolsFault()}
            value={props.wishes.tools()}
            onInput={(event) => props.wishes.setTools(event.currentTarget.value)}
          />
          <Show when={props.wishes.tools().trim() === ""}>
            <div>
              <Button onClick={() => props.wishes.setTools(EXAMPLE_TOOL)}>Put in an example</Button>
            </div>
          </Show>
        </div>
      </details>
      <details class={styles.section}>
        <summary>
          Answer{" "}
          <span class={ui.soft}>
            {{ text: "text", json_object: "JSON", json_schema: "JSON by a schema" }[props.wishes.format()]}
          </span>
        </summary>
        <div class={styles.sectionBody}>
          <SelectField
            label="The answer is"
            value={props.wishes.format()}
            onChange={(event) => props.wishes.setFormat(event.currentTarget.value as "text")}
          >
            <option value="text">Text</option>
            <option value="json_object">JSON</option>
            <option value="json_schema">JSON by a schema</option>
          </SelectField>
          <Show when={props.wishes.format() === "json_schema"}>
            <TextArea
              label="JSON Schema"
              rows={10}
              spellcheck={false}
              fault={props.wishes.schemaFault()}
              value={props.wishes.schema()}
              onInput={(event) => props.wishes.setSchema(event.currentTarget.value)}
            />
          </Show>
        </div>
      </details>
      <details class={styles.section} open>
        <summary>
          Parameters <span class={ui.soft}>{set() === 0 ? "none set" : `${set()} set`}</span>
        </summary>
        <div class={styles.sectionBody}>
          <Show when={set() > 0}>
            <div>
              <Button onClick={() => props.wishes.setValues({})}>Reset all</Button>
            </div>
          </Show>
          <Show when={props.models.length > 1} fallback={parameters()}>
            <p class={ui.hint}>Both models are sent what they have a parameter for.</p>
            <Tabs
              label="Models"
              tabs={props.models.map(({ id, display_name: name }) => ({ value: id, name }))}
              value={shown()?.id ?? ""}
              onChange={setTab}
            >
              {parameters()}
            </Tabs>
          </Show>
        </div>
      </details>
    </div>
  );
}
