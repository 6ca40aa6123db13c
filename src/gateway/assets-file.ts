import type { AssetUrls, OpenAsset } from "../assets/assets.ts";
import { GatewayError } from "../core/errors.ts";

/**
 * The file that a signed URL names, by its path and query as sent. Throws the same `permission_error` for every fault
 * of a URL, so that no error tells which tasks and files there are.
 */
export async function openAsset(assets: AssetUrls, path: string, query: string): Promise<OpenAsset> {
  const file = await assets.open(path, query);
  if (file === undefined) {
    throw new GatewayError(
      "permission_error",
      "This URL is not valid, or not any more. Ask for the task again: its answer has a new one while the file is kept.",
    );
  }
  return file;
}
