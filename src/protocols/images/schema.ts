import { type ImageFields, ImageFieldsSchema, IMAGE_TABLE } from "../../catalog/parameter-tables/images.ts";
import { compileSchema } from "../../core/schema.ts";
import { createMeantField } from "../meant-field.ts";
import type { BodyForm } from "../media-request.ts";

/** Fields whose values are words that may be written as numbers. */
const NUMBERED: ReadonlySet<string> = new Set(["quality", "version", "niji"]);

const NAMES = Object.keys(IMAGE_TABLE.fields.properties);

/** How bodies of requests for images are read: by the table that they are documented by. */
export const IMAGE_FORM: BodyForm<ImageFields> = {
  checker: compileSchema(ImageFieldsSchema),
  names: new Set(NAMES),
  meant: createMeantField(NAMES, {
    model: "model_id model_name",
    prompt: "input text description messages contents",
    n: "num_images num_outputs number_of_images max_images batch_size sample_count count",
    size: "width height image_width image_height dimensions",
    image_size: "resolution",
    aspect_ratio: "ratio",
    image: "images image_url image_urls input_image input_images init_image reference_image reference_images",
    mask: "mask_url mask_image",
    output_format: "format mime_type output_mime_type",
    stylize: "stylization",
    weird: "weirdness",
    sref: "style_reference style_image",
  }),
  makes: "images",
  members: {},
  spell(name, value) {
    if (name === "size" && typeof value === "string") return value.replace(/^(\d+)x(\d+)$/, "$1*$2");
    return NUMBERED.has(name) && typeof value === "number" ? String(value) : value;
  },
};
