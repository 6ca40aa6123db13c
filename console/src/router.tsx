import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  Navigate,
} from "@tanstack/solid-router";
import { Match, Show, Switch } from "solid-js";
import { Offline } from "./api/client.ts";
import { useQuery } from "./api/query.ts";
import { queries } from "./api/query-client.ts";
import { readAhead } from "./api/read-ahead.ts";
import { isOperatorIn, readerOf, sessionQuery } from "./api/session.ts";
import { buttonClass } from "./design/button.tsx";
import { Page } from "./design/layout.tsx";
import { nowSec } from "./design/now.ts";
import { Empty, Failure, Skeleton } from "./design/states.tsx";
import { readSearch, REQUESTS_SEARCH, TASKS_SEARCH } from "./lists/search.ts";
import { pagesQuery } from "./lists/use-pages.ts";
import { ACCOUNT_SEARCH, ACCOUNTS_SEARCH, NEW_KEY_SEARCH } from "./screens/accounts/search.ts";
import { readHealth } from "./screens/health/search.ts";
import { MODEL_SEARCH, MODELS_SEARCH } from "./screens/models/search.ts";
import { readMedia } from "./screens/playground/media-search.ts";
import { PLAYGROUND_SEARCH } from "./screens/playground/search.ts";
import { overviewQueries } from "./screens/overview/reads.ts";
import { paidPages, requestQuery } from "./screens/requests/reads.ts";
import { ReaderPages } from "./screens/reader-pages.tsx";
import { SignIn } from "./screens/sign-in.tsx";
import { taskPages } from "./screens/tasks/reads.ts";
import { readWelcome } from "./screens/welcome/search.ts";
import { rangeDeps, rangeOf, readRange } from "./shell/range.ts";

const root = createRootRoute({
  validateSearch: readRange,
  component: Root,
  notFoundComponent: () => (
    <Page title="There is no such page">
      <Empty title="The address may be mistyped">
        <Link to="/" class={buttonClass()}>
          Go to the start
        </Link>
      </Empty>
    </Page>
  ),
});

/** A page whose files are loaded when it is opened. */
function pageOf<Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(async () => {
    try {
      return await load();
    } catch (cause) {
      throw new Offline("The files of this page could not be loaded.", { cause });
    }
  }, name);
}

/** The pages for who is signed in, or the way in. */
function Root() {
  const session = useQuery(() => sessionQuery);
  return (
    <Switch fallback={<SignIn />}>
      <Match when={session.isPending}>
        <Skeleton lines={6} />
      </Match>
      <Match when={session.error}>
        {(error) => <Failure error={error()} retry={() => void session.refetch()} />}
      </Match>
      <Match when={session.data}>
        {(present) => (
          <Show when={readerOf(present())} keyed>
            <ReaderPages session={present()} />
          </Show>
        )}
      </Match>
    </Switch>
  );
}

const home = createRoute({ getParentRoute: () => root, path: "/", component: Home });

/** Leads to the first place of who is signed in. */
function Home() {
  const session = useQuery(() => sessionQuery);
  const first = () => (session.data?.role === "developer" ? "/playground" : "/overview");
  return <Navigate to={first()} replace />;
}

const welcome = createRoute({
  getParentRoute: () => root,
  path: "/welcome",
  validateSearch: readWelcome,
  component: pageOf(() => import("./screens/welcome/welcome.tsx"), "Welcome"),
});

const overview = createRoute({
  getParentRoute: () => root,
  path: "/overview",
  loaderDeps: rangeDeps,
  loader: ({ deps }) =>
    readAhead(isOperatorIn(queries) ? overviewQueries(rangeOf(deps, nowSec()), nowSec()) : []),
  component: pageOf(() => import("./screens/overview/overview.tsx"), "Overview"),
});

const playground = createRoute({
  getParentRoute: () => root,
  path: "/playground",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, PLAYGROUND_SEARCH),
  component: pageOf(() => import("./screens/playground/text.tsx"), "PlaygroundText"),
});

const playgroundImages = createRoute({
  getParentRoute: () => root,
  path: "/playground/images",
  validateSearch: readMedia,
  component: pageOf(() => import("./screens/playground/images.tsx"), "PlaygroundImages"),
});

const playgroundVideos = createRoute({
  getParentRoute: () => root,
  path: "/playground/videos",
  validateSearch: readMedia,
  component: pageOf(() => import("./screens/playground/videos.tsx"), "PlaygroundVideos"),
});

const models = createRoute({
  getParentRoute: () => root,
  path: "/models",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, MODELS_SEARCH),
  component: pageOf(() => import("./screens/models/models.tsx"), "Models"),
});

const model = createRoute({
  getParentRoute: () => root,
  path: "/models/$id",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, MODEL_SEARCH),
  component: pageOf(() => import("./screens/models/model.tsx"), "ModelPage"),
});

const requests = createRoute({
  getParentRoute: () => root,
  path: "/requests",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, REQUESTS_SEARCH),
  // Rows are put in order in the page.
  loaderDeps: ({ search }) => ({ ...search, sort: undefined }),
  loader: ({ deps }) => readAhead(deps.tab === "refused" ? [] : [pagesQuery(paidPages(deps, deps))]),
  component: pageOf(() => import("./screens/requests/requests.tsx"), "Requests"),
});

const request = createRoute({
  getParentRoute: () => root,
  path: "/requests/$id",
  // A pointer that moves over a list would read each of its requests.
  loader: ({ cause, params }) => readAhead(cause === "preload" ? [] : [requestQuery(params.id)]),
  component: pageOf(() => import("./screens/requests/request.tsx"), "RequestPage"),
});

const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, TASKS_SEARCH),
  // Rows are put in order in the page.
  loaderDeps: ({ search }) => ({ ...search, sort: undefined }),
  loader: ({ deps }) => readAhead([pagesQuery(taskPages(deps, deps))]),
  component: pageOf(() => import("./screens/tasks/tasks.tsx"), "Tasks"),
});

const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$id",
  component: pageOf(() => import("./screens/tasks/task.tsx"), "TaskPage"),
});

const accounts = createRoute({
  getParentRoute: () => root,
  path: "/accounts",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, ACCOUNTS_SEARCH),
  component: pageOf(() => import("./screens/accounts/accounts.tsx"), "Accounts"),
});

const account = createRoute({
  getParentRoute: () => root,
  path: "/accounts/$id",
  validateSearch: (search: Record<string, unknown>) => readSearch(search, ACCOUNT_SEARCH),
  component: pageOf(() => import("./screens/accounts/account.tsx"), "AccountPage"),
});

const newKey = createRoute({
  getParentRoute: () => root,
  path: "/keys/new",
  validateSearch: (search: Record<string, unknown>) => ({
    ...readWelcome(search),
    ...readSearch(search, NEW_KEY_SEARCH),
  }),
  component: pageOf(() => import("./screens/accounts/new-key.tsx"), "NewKeyPage"),
});

const key = createRoute({
  getParentRoute: () => root,
  path: "/keys/$id",
  component: pageOf(() => import("./screens/accounts/key.tsx"), "KeyPage"),
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/health",
  validateSearch: readHealth,
  component: pageOf(() => import("./screens/health/health.tsx"), "Health"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: pageOf(() => import("./screens/settings/settings.tsx"), "Settings"),
});

/** The addresses of the console: each page has one, and what it shows stands in it. */
export const router = createRouter({
  routeTree: root.addChildren([
    home,
    welcome,
    overview,
    playground,
    playgroundImages,
    playgroundVideos,
    models,
    model,
    requests,
    request,
    tasks,
    task,
    accounts,
    account,
    newKey,
    key,
    health,
    settings,
  ]),
  basepath: "/console",
  defaultPreload: "intent",
  // What was read ahead is kept by the query cache, which knows how old it may be.
  defaultPreloadStaleTime: 0,
  // Also the files of a later build come with the page that is loaded anew.
  defaultErrorComponent: ({ error }) => <Failure error={error} retry={() => location.reload()} />,
  scrollRestoration: true,
});

declare module "@tanstack/solid-router" {
  interface Register {
    readonly router: typeof router;
  }
}
