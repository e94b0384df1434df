-- Contents of a parcel may be items of the inventory.
alter table delivery.delivery_items add foreign key (tenant_id, item_id)
  references warehousing.inventory_items (tenant_id, id) on delete restrict;
