import { routesForSessions } from "./console/table.ts";
import type { Route } from "./route.ts";
import { assetRoute } from "./routes/assets.ts";
import { accountRoutes } from "./routes/admin/accounts.ts";
import { auditRoute } from "./routes/admin/audit.ts";
import { keyRoutes } from "./routes/admin/keys.ts";
import { pricesRoute } from "./routes/admin/prices.ts";
import { refusalRoutes } from "./routes/admin/refusals.ts";
import { requestRoutes } from "./routes/admin/requests.ts";
import { routesRoute } from "./routes/admin/routes.ts";
import { statusRoute } from "./routes/admin/status.ts";
import { taskRoutes } from "./routes/admin/tasks.ts";
import { usageRoute } from "./routes/admin/usage.ts";
import { chatCompletionsRoute } from "./routes/chat-completions.ts";
import { consoleFileRoutes } from "./routes/console-files.ts";
import { consoleReadsRoute } from "./routes/console-reads.ts";
import { consoleRoutes } from "./routes/console-sessions.ts";
import { docsRoutes } from "./routes/docs.ts";
import { embeddingsRoute } from "./routes/embeddings.ts";
import { generateContentRoutes } from "./routes/generate-content.ts";
import { imageRoutes } from "./routes/images.ts";
import { keptResponseRoutes } from "./routes/kept-responses.ts";
import { messagesCountRoute, messagesRoute } from "./routes/messages.ts";
import { modelRoutes } from "./routes/models.ts";
import { responsesRoutes } from "./routes/responses.ts";
import { serviceRoutes } from "./routes/service.ts";
import { videoRoutes } from "./routes/videos.ts";

/** The one route table, for the OpenAPI description and the router. */
export const ROUTES: readonly Route[] = [
  chatCompletionsRoute,
  ...generateContentRoutes,
  messagesRoute,
  messagesCountRoute,
  ...responsesRoutes,
  ...keptResponseRoutes,
  embeddingsRoute,
  ...imageRoutes,
  ...videoRoutes,
  ...modelRoutes,
  ...docsRoutes,
  assetRoute,
  ...accountRoutes,
  ...keyRoutes,
  ...requestRoutes,
  ...taskRoutes,
  routesRoute,
  pricesRoute,
  usageRoute,
  ...refusalRoutes,
  auditRoute,
  statusRoute,
  ...consoleRoutes,
  consoleReadsRoute,
  ...consoleFileRoutes,
  ...serviceRoutes(() => ROUTES),
];

/** What the router knows: the table, and the same routes for sessions of the console. */
export const ROUTED: readonly Route[] = [...ROUTES, ...routesForSessions(ROUTES)];
