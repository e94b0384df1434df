/** Access to drivers' pay. */
import { anyOf, permission, role } from "../../../shared/api/access.ts";

/** The people who pay drivers. */
export const office = role("tenant_admin", "operations_manager", "dispatcher");

/** Drivers for their own pay, the office for everybody's; programs with an administrator's key read it. */
export const payReaders = anyOf(office, role("driver"), permission("manage:tenant"));
