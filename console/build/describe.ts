// Prints the OpenAPI description, from which the console's types are made.
import { describeOpenApi } from "../../src/http/openapi.ts";
import { ROUTES } from "../../src/http/routes.ts";

process.stdout.write(JSON.stringify(describeOpenApi(ROUTES, "/", "0")));
