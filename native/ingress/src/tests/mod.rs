mod certificates;
mod edges;
mod fixture;
mod streams;
