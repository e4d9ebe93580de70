// What `seeObservers` bundles: the kernel with the evaluation that is measured.
export { modelAdapter } from "@proviso/runtime";
export { evaluating } from "./proviso.ts";
