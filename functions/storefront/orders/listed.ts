/** The columns of an order in every list. */
export const inEveryList = (row: Record<string, unknown>) => ({
  id: row.id,
  order_number: row.order_number,
  status: row.status,
  paymentMethod: row.payment_method,
  paymentStatus: row.payment_status,
  fulfilment: row.fulfilment,
  totalItems: row.total_items,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
