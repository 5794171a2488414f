mod certificates;
mod dialects;
mod edges;
mod fixture;
mod streams;
