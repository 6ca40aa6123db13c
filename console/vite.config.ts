import { defineConfig } from "vite";
import solid from "vite-plugin-solid";

/** Where `vite` finds a gateway's API while the pages are worked on. */
const GATEWAY = process.env.SWITCHYARD_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [solid()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // Nothing inlined: the policy of the pages allows no data in style sheets and no script in a page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/console/api": GATEWAY } },
});
