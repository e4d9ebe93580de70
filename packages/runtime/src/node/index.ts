export { hostFilesystem } from "./host-filesystem.ts";
