/** Callers of webhooks: the people of the company, and its merchants for what is their own. */
import { anyOf, permission, role } from "../../shared/api/access.ts";

export const readers = anyOf(permission("view:tenant", "manage:tenant"), role("institution"));
export const writers = anyOf(permission("manage:tenant"), role("institution"));
