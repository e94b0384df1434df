select app.deny_table('delivery.road_distances');
