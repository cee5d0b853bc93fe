// Linked with every object of the library: a kernel or function that is declared, used and nowhere defined shows here.
int main() { return 0; }
