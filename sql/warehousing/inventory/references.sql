-- What is in a parcel may be goods of the stock.
alter table delivery.delivery_items add foreign key (tenant_id, item_id)
  references warehousing.inventory_items (tenant_id, id) on delete restrict;
