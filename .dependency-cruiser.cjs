// The layers of docs/ARCHITECTURE.md, lowest first: a folder imports itself and anything earlier.
const LAYERS = [
  "core",
  "runtime",
  "db",
  "catalog",
  "protocols",
  "limits",
  "assets",
  "keys",
  "kept",
  "ledger",
  "tasks",
  "providers",
  "gateway",
  "http",
  "warmup",
];

const upward = LAYERS.map((layer, i) => ({
  name: `${layer}-imports-upward`,
  severity: "error",
  from: { path: `^src/${layer}/` },
  to: {
    path: `^src/(${[...LAYERS.slice(i + 1), "services", "open-books", "open-metrics", "open-tasks", "open-web", "main", "config"].join("|")})(/|\\.ts$)`,
  },
}));

module.exports = {
  forbidden: [
    ...upward,
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "translation-is-pure",
      severity: "error",
      from: { path: "^src/(core|protocols)/", pathNot: "\\.test\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "only-runtime-knows-bun",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/runtime/|\\.test\\.ts$" },
      to: { path: "^bun(:|$)" },
    },
    {
      name: "protocols-apart",
      severity: "error",
      from: { path: "^src/protocols/([^/]+)/" },
      to: { path: "^src/protocols/([^/]+)/", pathNot: "^src/protocols/$1/" },
    },
    {
      name: "providers-apart",
      severity: "error",
      from: { path: "^src/providers/([^/]+)/" },
      to: { path: "^src/providers/([^/]+)/", pathNot: "^src/providers/$1/" },
    },
    {
      name: "providers-do-not-see-money",
      severity: "error",
      from: { path: "^src/providers/" },
      to: { path: "^src/(ledger|tasks|db|keys)/" },
    },
    {
      name: "the-decision-is-pure",
      severity: "error",
      from: { path: "^src/ledger/decide/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: "^src/(core|ledger/decide)/|^src/ledger/[a-z-]*(commands|rows)\\.ts$" },
    },
    {
      name: "stores-apart",
      severity: "error",
      from: { path: "^src/ledger/(sqlite|postgres)/" },
      to: { path: "^src/ledger/(sqlite|postgres)/", pathNot: "^src/ledger/$1/" },
    },
    {
      name: "only-the-registry-names-vendors",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/providers/|\\.test\\.ts$" },
      to: { path: "^src/providers/[^/]+/" },
    },
    {
      name: "language-and-media-apart",
      severity: "error",
      from: { path: "^src/gateway/(language|media)/", pathNot: "\\.test\\.ts$" },
      to: { path: "^src/gateway/(language|media)/", pathNot: "^src/gateway/$1/" },
    },
    {
      name: "http-goes-through-gateway",
      severity: "error",
      from: { path: "^src/http/", pathNot: "\\.test\\.ts$" },
      to: { path: "^src/(db|ledger|providers|keys)/" },
    },
    {
      name: "console-apart",
      severity: "error",
      from: { path: "^(src|test|bench)/" },
      to: { path: "^console/", pathNot: "^console/build/" },
    },
    {
      name: "console-knows-the-description-alone",
      severity: "error",
      from: { path: "^console/src/", pathNot: "\\.test\\.ts$" },
      to: { path: "^(src|test|bench)/" },
    },
    {
      name: "source-does-not-import-tests",
      severity: "error",
      from: { path: "^src/", pathNot: "\\.test\\.ts$" },
      to: { path: "^(test|bench)/|\\.test\\.ts$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types"] },
  },
};
