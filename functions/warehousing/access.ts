/** The access rules that several features of the warehousing function share. */
import { anyOf, permission, role } from "../../shared/api/access.ts";

/** In SQL: who sees every row of a list, and so may read its kept total. Warehouse staff see their own warehouses. */
export const seesAllWarehouses = "app.sees_tenant() and app.own_warehouses() is null";

/** Those who look. */
export const canViewOperations = permission("view:tenant", "manage:operations:tenant");

/** Those who run operations. */
export const canManageOperations = permission("manage:operations:tenant");

/** Those who run operations or the warehouse. */
export const canManageWarehouse = permission("manage:operations:tenant", "manage:module:warehouse");

/** Those who look, and those who run the warehouse. */
export const canManageOrViewWarehouse = permission(
  "view:tenant",
  "manage:operations:tenant",
  "manage:module:warehouse",
);

/** Those who work in a warehouse; the cores ask whether it is theirs. */
export const canWorkInWarehouse = anyOf(
  canManageWarehouse,
  role("warehouse_manager", "warehouse_staff"),
);

/** Everybody who may look into warehouses. */
export const canViewWarehouse = anyOf(canManageOrViewWarehouse, canWorkInWarehouse);
