import { MediaPlayground } from "./media.tsx";

/** The playground for videos. */
export function PlaygroundVideos() {
  return <MediaPlayground kind="video" />;
}
