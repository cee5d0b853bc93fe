// Must not link: this kernel has no definition. The test wants the linker to name it and its instruction set.
#include "tutti/backends/contract/kernel.h"

struct forgotten : tutti::Kernel<forgotten> {
  template <class Target>
  static void run();
};

int main() { forgotten::on(tutti::cpu)(); }
