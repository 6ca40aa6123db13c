import { default as jpeg } from "@jsquash/jpeg/encode.js";
import { default as webp } from "@jsquash/webp/encode.js";
import { forgetCodecLocation } from "../../src/runtime/images/codec-globals.ts";

/** Encoders of whole images, which leave nothing in the process that other test files share. */
export const encodeJpeg: typeof jpeg = (...args) => jpeg(...args).finally(forgetCodecLocation);
export const encodeWebp: typeof webp = (...args) => webp(...args).finally(forgetCodecLocation);
