import { MediaPlayground } from "./media.tsx";

/** The playground for images. */
export function PlaygroundImages() {
  return <MediaPlayground kind="image" />;
}
