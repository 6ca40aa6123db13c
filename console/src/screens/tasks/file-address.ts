/**
 * The address of a file as this page may load it. The page asks for one of the gateway's own where the page came from,
 * so that its policy allows it also behind another name. Files of a bucket keep their address.
 */
export function fileAddress(url: string, publicUrl: string): string {
  const base = publicUrl.replace(/\/+$/, "");
  return base !== "" && url.startsWith(`${base}/`) ? url.slice(base.length) : url;
}

/** The name under which a file is kept: the last part of its path. */
export function fileName(url: string): string {
  return decodeURIComponent(url.split(/[?#]/)[0]?.split("/").at(-1) ?? "");
}
