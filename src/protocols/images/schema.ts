import { type ImageFields, ImageFieldsSchema, IMAGE_TABLE } from "../../catalog/parameter-tables/images.ts";
import { compileSchema } from "../../core/schema.ts";
import type { BodyForm } from "../media-request.ts";

/** Fields whose values are words that may be written as numbers. */
const NUMBERED: ReadonlySet<string> = new Set(["quality", "version", "niji"]);

/** How bodies of requests for images are read: by the table that they are documented by. */
export const IMAGE_FORM: BodyForm<ImageFields> = {
  checker: compileSchema(ImageFieldsSchema),
  names: new Set(Object.keys(IMAGE_TABLE.fields.properties)),
  makes: "images",
  members: {},
  spell(name, value) {
    if (name === "size" && typeof value === "string") return value.replace(/^(\d+)x(\d+)$/, "$1*$2");
    return NUMBERED.has(name) && typeof value === "number" ? String(value) : value;
  },
};
