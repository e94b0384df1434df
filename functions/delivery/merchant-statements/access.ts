/** Access to statements of merchants. */
import { anyOf, member, permission, role } from "../../../shared/api/access.ts";

/** The people who make statements. */
export const stateMakers = role("tenant_admin", "operations_manager");

/** The people who pay statements; by bank and transfer all but dispatchers. */
export const office = role("tenant_admin", "operations_manager", "dispatcher");

/** The people whose money it is: the owner of a wallet keeps its statements, also as a driver or on the staff. */
export const owners = member();

/** Owners for their own statements, the office for everybody's; programs with an administrator's key read them. */
export const statementReaders = anyOf(office, owners, permission("manage:tenant"));

/** The office for everybody's money; programs with an administrator's key read it. */
export const balanceReaders = anyOf(office, permission("manage:tenant"));
