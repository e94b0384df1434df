/** Access to the endpoints about cash. */
import { anyOf, permission, role } from "../../../shared/api/access.ts";

/** Those who count cash and prove where it is. */
export const office = role("dispatcher", "tenant_admin");

/** Drivers for their own cash, the office for everybody's. */
export const cashPeople = role("driver", "dispatcher", "tenant_admin");

/** Programs with an administrator's key read all of it: accounts are kept in other systems too. Cash is moved by people. */
const key = permission("manage:tenant");
export const officeReaders = anyOf(office, key);
export const cashReaders = anyOf(cashPeople, key);

/** The people who may have a desk of the office: operations managers too, to whom cash is handed for payments. */
export const deskPeople = role("dispatcher", "operations_manager", "tenant_admin");
export const deskReaders = anyOf(deskPeople, key);
