import { fieldsOf, inputOf, readField, type Schema, type SchemaField } from "../../design/schema-fields.ts";

/** What a page of the playground makes. */
export type MediaKind = "image" | "video";

/** A file or a link that a job refers to. */
export interface Reference {
  /** A link or a data URI. */
  readonly value: string;
  readonly name: string;
}

/** A place for references: a parameter of the model, or one end of its frames. */
export interface Slot {
  readonly key: string;
  readonly title: string;
  readonly hint: string | undefined;
  readonly media: "image" | "audio" | "video";
  readonly most: number;
  readonly isRequired: boolean;
  /** Files may be sent within the request; else links alone. */
  readonly takesFiles: boolean;
}

/** References by the keys of their slots. */
export type References = Readonly<Record<string, readonly Reference[]>>;

/** What was typed for a job. */
export interface Draft {
  readonly prompt: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly references: References;
  /** Links that are still typed, by the keys of their slots. */
  readonly links: Readonly<Record<string, string>>;
  readonly isTask: boolean;
}

/** The body of a request for media. */
export type Job = Readonly<Record<string, unknown>> & { readonly model: string; readonly prompt: string };

const MEMBERS: Readonly<Record<string, { readonly title: string; readonly media: Slot["media"] }>> = {
  image: { title: "Images to start from", media: "image" },
  mask: { title: "Mask", media: "image" },
  sref: { title: "Image of the style", media: "image" },
  frame_images: { title: "First frame", media: "image" },
  input_references: { title: "Reference images", media: "image" },
  reference_videos: { title: "Reference videos", media: "video" },
  reference_audios: { title: "Reference audio", media: "audio" },
};

const FIRST = "frame_images:first_frame";
const LAST = "frame_images:last_frame";
const ANY = 16;

/** The parameters of a model that its form asks for; the page asks for the others in its own way. */
export function formFields(schema: Schema): readonly SchemaField[] {
  return fieldsOf(schema, ["model", "prompt", "async", ...Object.keys(MEMBERS)]);
}

/** The places for references that a model has. */
export function slotsOf(schema: Schema): readonly Slot[] {
  const required = Array.isArray(schema.required) ? (schema.required as readonly unknown[]) : [];
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  return Object.entries(MEMBERS).flatMap(([name, member]): readonly Slot[] => {
    const part = properties[name];
    if (part === undefined) return [];
    const hint = typeof part.description === "string" ? part.description : undefined;
    const most = part.type !== "array" ? 1 : typeof part.maxItems === "number" ? part.maxItems : ANY;
    const slot = {
      ...member,
      key: name,
      hint,
      most,
      isRequired: required.includes(name),
      takesFiles: /data URI|base64/.test(hint ?? ""),
    };
    if (name !== "frame_images") return [slot];
    const first = { ...slot, key: FIRST, most: 1, hint: "Not together with references" };
    return most < 2 ? [first] : [first, { ...first, key: LAST, title: "Last frame", isRequired: false }];
  });
}

/** Those of `values` that the fields take: what was set for one model may not fit another. */
export function fitting(
  fields: readonly SchemaField[],
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const read = readField(field, inputOf(field, values[field.name]));
      return read !== undefined && "value" in read ? [[field.name, read.value] as const] : [];
    }),
  );
}

/** The body that asks for what was typed. */
export function jobOf(kind: MediaKind, model: string, schema: Schema, draft: Draft): Job {
  return {
    model,
    prompt: draft.prompt,
    ...fitting(formFields(schema), draft.values),
    ...referenceMembers(schema, draft.references),
    ...(kind === "image" && draft.isTask ? { async: true } : {}),
  };
}

function referenceMembers(schema: Schema, references: References): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  const frames: object[] = [];
  for (const { key, most } of slotsOf(schema)) {
    const values = (references[key] ?? []).slice(0, most).map(({ value }) => value);
    if (values.length === 0) continue;
    const [, frame] = key.split(":");
    if (frame !== undefined) frames.push({ image_url: values[0], frame_type: frame });
    else members[key] = key === "mask" || key === "sref" ? values[0] : values;
  }
  return frames.length === 0 ? members : { ...members, frame_images: frames };
}

/** Why a job cannot be sent; `undefined` where it can. */
export function faultOf(schema: Schema, draft: Draft): string | undefined {
  if (draft.prompt.trim() === "") return "Write a prompt first.";
  if (draft.prompt.length > (promptLimit(schema) ?? Infinity)) return "Shorten the prompt.";
  const typed = slotsOf(schema).find(({ key }) => (draft.links[key] ?? "").trim() !== "");
  if (typed !== undefined) return `Add the link under “${typed.title}”, or clear it.`;
  const given = slotsOf(schema).filter(({ key }) => (draft.references[key] ?? []).length > 0);
  if (given.some(isFrame) && given.some((slot) => !isFrame(slot)))
    return "The model takes frames or references, not both.";
  const missing = slotsOf(schema).find(
    ({ key, isRequired }) => isRequired && (draft.references[key] ?? []).length === 0,
  );
  return missing === undefined ? undefined : `This model needs: ${missing.title.toLowerCase()}.`;
}

/** How many characters a prompt may have; `undefined` where the model says none. */
export function promptLimit({ properties }: Schema): number | undefined {
  return (properties as { readonly prompt?: { readonly maxLength?: number } } | undefined)?.prompt?.maxLength;
}

function isFrame({ key }: Slot): boolean {
  return key === FIRST || key === LAST;
}

/** The path of the public API, below `/api/v1/`, that takes such jobs. */
export function pathOf(kind: MediaKind): string {
  return kind === "image" ? "images/generations" : "videos";
}

/** A job as a call from a shell. `url`: the gateway's address, without a path. */
export function curlOf(kind: MediaKind, url: string, job: Job): string {
  // Bytes within the request can be longer than an argument may be.
  return `curl ${url.replace(/\/+$/, "")}/api/v1/${pathOf(kind)} \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" \\
  -H "Content-Type: application/json" \\
  -d @- <<'JSON'
${JSON.stringify(job, null, 2)}
JSON`;
}

/** A text longer than this stands shortened in what is shown. */
const SHOWN = 300;

/** JSON laid out to be read: long texts, as the bytes of images are, shortened. Other text stays as it is. */
export function readable(text: string): string {
  try {
    return JSON.stringify(
      JSON.parse(text),
      (_, value: unknown) =>
        typeof value === "string" && value.length > SHOWN
          ? `${value.slice(0, 60)}… (${value.length} characters)`
          : value,
      2,
    );
  } catch {
    return text;
  }
}
