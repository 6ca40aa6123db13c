import { QueryClientProvider } from "@tanstack/solid-query";
import { RouterProvider } from "@tanstack/solid-router";
import { render } from "solid-js/web";
import { queries } from "./api/query-client.ts";
import "./design/tokens.css";
import "./design/base.css";
import { router } from "./router.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element to draw in.");
render(
  () => (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  ),
  root,
);
