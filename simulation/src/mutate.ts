import { registerHooks } from "node:module";
import { mutations } from "./mutations.ts";
import { runMutations } from "./run-mutations.ts";
import { scarceMutations } from "./scarce-mutations.ts";

// node --import ./mutate.ts: puts the bug that MUTATION names into its source while it is loaded.
const mutation = [...mutations, ...runMutations, ...scarceMutations].find(
  ({ name }) => name === process.env["MUTATION"],
);
if (mutation === undefined) throw new Error(`There is no mutation "${process.env["MUTATION"]}".`);
const { file, find, replace } = mutation;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/packages/${file}`)) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString("utf8");
    if (source.split(find).length !== 2) throw new Error(`${file} does not hold exactly once: ${find}`);
    return { ...loaded, source: source.replace(find, () => replace) };
  },
});
