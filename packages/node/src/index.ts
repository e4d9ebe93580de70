export { fileAt } from "./file-at.ts";
export { fileOverrides } from "./file-overrides.ts";
export { folderBlobs } from "./folder-blobs.ts";
export { hostFilesystem, type HostFilesystemOptions } from "./host-filesystem.ts";
export {
  sqliteConversations,
  type SqliteConversations,
  type SqliteConversationsOptions,
} from "./sqlite-conversations.ts";
export { SqliteDatabase } from "./sqlite-database.ts";
export type { SqliteParameters, SqliteRow, SqliteStatement, SqliteValue } from "./sqlite-database.ts";
export { SqliteError, type SqliteFault } from "./sqlite-error.ts";
export type { SqliteLender } from "./sqlite-lent.ts";
export { sqliteResource, type SqliteOptions } from "./sqlite-resource.ts";
export { sqliteUsageStore, type SqliteUsageOptions, type SqliteUsageStore } from "./sqlite-usage-store.ts";
