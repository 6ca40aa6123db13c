import type { ImageFields } from "../../catalog/parameter-tables/images.ts";
import { present } from "../../core/json/json-value.ts";
import { readInput, readLink } from "../media-inputs.ts";
import { type MediaBody, readMediaBody } from "../media-request.ts";
import type { WireRequest } from "../protocol.ts";
import { readRequestJson } from "../request-json.ts";
import { IMAGE_FORM } from "./schema.ts";

/** Whether a value has the fields of a request for images, each in the spelling that the interface lists. */
export function isImageFields(value: unknown): value is ImageFields {
  return IMAGE_FORM.checker.accepts(value);
}

/**
 * Reads a request for images. Its fields are those of the interface, in the spelling that the interface lists. Its
 * images are links or data URIs of a format that is taken. Throws a 400 that names the field at fault.
 */
export function readImageBody(wire: Pick<WireRequest, "body" | "asked">): MediaBody<ImageFields> {
  const { fields, warnings } = readMediaBody(readRequestJson(wire), IMAGE_FORM);
  const { image, mask, sref, ...others } = fields;
  const read = {
    image: image?.map((item, i) => readInput(item, "image", `image[${i}]`)),
    mask: mask === undefined ? mask : readInput(mask, "image", "mask"),
    sref: sref === undefined ? sref : readLink(sref, "sref"),
  };
  return { fields: { ...others, ...present(read) }, warnings };
}
