import { configOf } from "./vitest.config.ts";

// `pnpm test:exhaustive`: every case of the matrices and properties of which `pnpm test` runs a slice.
export default configOf({ exhaustive: true });
