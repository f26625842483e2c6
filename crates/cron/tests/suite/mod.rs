mod bad_input;
mod crash;
mod load;
mod overlap;
mod week;
mod world;
